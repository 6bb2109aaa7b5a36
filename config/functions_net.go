package config

import (
	"errors"
	"fmt"
	"math/big"
	"net/netip"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/gocty"
)

// netFunctions calculate with ranges of IP addresses.
func netFunctions() map[string]function.Function {
	prefix := function.Parameter{Name: "prefix", Type: cty.String}
	number := func(name string) function.Parameter { return function.Parameter{Name: name, Type: cty.Number} }
	return map[string]function.Function{
		"cidrhost": function.New(&function.Spec{
			Params: []function.Parameter{prefix, number("hostnum")},
			Type:   function.StaticReturnType(cty.String),
			Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
				p, err := network(args[0])
				if err != nil {
					return cty.NilVal, err
				}
				n, accuracy := args[1].AsBigFloat().Int(nil)
				if accuracy != big.Exact {
					return cty.NilVal, function.NewArgErrorf(1, "a whole number is required")
				}
				return shown(host(p, n))
			},
		}),
		"cidrnetmask": function.New(&function.Spec{
			Params: []function.Parameter{prefix},
			Type:   function.StaticReturnType(cty.String),
			Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
				p, err := network(args[0])
				if err != nil {
					return cty.NilVal, err
				}
				if !p.Addr().Is4() {
					return cty.NilVal, function.NewArgErrorf(0, "only IPv4 has netmasks")
				}
				all := netip.AddrFrom4([4]byte{255, 255, 255, 255})
				return shown(netip.PrefixFrom(all, p.Bits()).Masked().Addr(), nil)
			},
		}),
		"cidrsubnet": function.New(&function.Spec{
			Params: []function.Parameter{prefix, number("newbits"), number("netnum")},
			Type:   function.StaticReturnType(cty.String),
			Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
				p, err := network(args[0])
				if err != nil {
					return cty.NilVal, err
				}
				var bits, n int
				if err := errors.Join(gocty.FromCtyValue(args[1], &bits), gocty.FromCtyValue(args[2], &n)); err != nil {
					return cty.NilVal, errors.New("newbits and netnum must be whole numbers")
				}
				return shown(subnet(p, bits, big.NewInt(int64(n))))
			},
		}),
		"cidrsubnets": function.New(&function.Spec{
			Params:   []function.Parameter{prefix},
			VarParam: &function.Parameter{Name: "newbits", Type: cty.Number},
			Type:     function.StaticReturnType(cty.List(cty.String)),
			Impl:     func(args []cty.Value, _ cty.Type) (cty.Value, error) { return subnets(args[0], args[1:]) },
		}),
	}
}

// network reads a prefix such as 10.0.0.0/8.
func network(v cty.Value) (netip.Prefix, error) {
	p, err := netip.ParsePrefix(v.AsString())
	if err != nil {
		return p, function.NewArgErrorf(0, "%q is no range of addresses like 10.0.0.0/8", v.AsString())
	}
	return p.Masked(), nil
}

func shown[T fmt.Stringer](v T, err error) (cty.Value, error) {
	return cty.StringVal(v.String()), err
}

// host gives the address with a number in the range; negative ones count from
// its end.
func host(p netip.Prefix, n *big.Int) (netip.Addr, error) {
	size := new(big.Int).Lsh(big.NewInt(1), uint(p.Addr().BitLen()-p.Bits()))
	if n.Sign() < 0 {
		n = new(big.Int).Add(size, n)
	}
	if n.Sign() < 0 || n.Cmp(size) >= 0 {
		return netip.Addr{}, fmt.Errorf("%s has only %s addresses", p, size)
	}
	return plus(p.Addr(), n), nil
}

// subnet gives the nth of the networks that are made by bits more of prefix.
func subnet(p netip.Prefix, bits int, n *big.Int) (netip.Prefix, error) {
	left := p.Addr().BitLen() - p.Bits()
	if bits < 0 || bits > left {
		return p, fmt.Errorf("%s has %d bits left, newbits is %d", p, left, bits)
	}
	if n.Sign() < 0 || n.BitLen() > bits {
		return p, fmt.Errorf("%d more bits number networks from 0 to %s, netnum is %s", bits, new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), uint(bits)), big.NewInt(1)), n)
	}
	return netip.PrefixFrom(plus(p.Addr(), new(big.Int).Lsh(n, uint(left-bits))), p.Bits()+bits), nil
}

// subnets gives networks one behind the other, each as long as asked for.
func subnets(prefix cty.Value, lengths []cty.Value) (cty.Value, error) {
	p, err := network(prefix)
	if err != nil {
		return cty.NilVal, err
	}
	list := []cty.Value{}
	used := new(big.Int) // addresses from the start of p
	for i, v := range lengths {
		var bits int
		if err := gocty.FromCtyValue(v, &bits); err != nil || bits < 1 {
			return cty.NilVal, function.NewArgErrorf(i+1, "newbits must be a whole number of at least 1")
		}
		left := p.Addr().BitLen() - p.Bits() - bits
		if left < 0 {
			return cty.NilVal, fmt.Errorf("%s has %d bits left, newbits is %d", p, left+bits, bits)
		}
		size := new(big.Int).Lsh(big.NewInt(1), uint(left))
		n := new(big.Int).Div(new(big.Int).Add(used, new(big.Int).Sub(size, big.NewInt(1))), size)
		sub, err := subnet(p, bits, n)
		if err != nil {
			return cty.NilVal, fmt.Errorf("%s has no room for all of these networks", p)
		}
		used.Mul(new(big.Int).Add(n, big.NewInt(1)), size)
		list = append(list, cty.StringVal(sub.String()))
	}
	if len(list) == 0 {
		return cty.ListValEmpty(cty.String), nil
	}
	return cty.ListVal(list), nil
}

func plus(a netip.Addr, n *big.Int) netip.Addr {
	sum := new(big.Int).SetBytes(a.AsSlice())
	sum.Add(sum, n)
	out, _ := netip.AddrFromSlice(sum.FillBytes(make([]byte, a.BitLen()/8)))
	return out
}
